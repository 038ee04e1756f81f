"""HTTP/1.1 connections for frequent short calls, to the API server and to HTTP extenders."""
