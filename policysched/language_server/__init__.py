"""What editors ask about policies; `server` alone speaks the Language Server Protocol."""
