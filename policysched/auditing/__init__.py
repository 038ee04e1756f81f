"""Find running pods that the policies in force would not place where they are, and move them.

judging    which rules of a profile reject a pod on its own node
violations what was found
auditing   all pods of a cluster
"""
