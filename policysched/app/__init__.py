"""The composition root: reads files and options, joins the packages, starts the scheduler."""
