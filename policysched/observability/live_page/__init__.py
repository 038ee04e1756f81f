"""The data with which a page follows a running scheduler: forms, pages below /debug/, answers."""
