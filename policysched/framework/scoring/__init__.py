"""Score: points of the feasible nodes, kept for equal pods and added up."""
