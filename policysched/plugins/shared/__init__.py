"""Code that plugins share: queueing hints, cached answers, texts about nodes, arguments."""
