"""Find running pods that the policies in force would not place where they are, and move them.

judging          which rules of a profile reject a pod on its own node
cluster_audit    all pods of a cluster; violations is the result, report its JSON
violation_ages   how long metric rules have rejected pods, from past samples
live_audit       periodic audits in a running scheduler, as metrics
move_planning    targets of violators, or obstacles to their moves, from a simulation
move_exclusions  pods that are never moved, and the limits of a run
missing_samples  metrics without samples, without which no pod is moved
loop_guard       the moves of earlier runs, which are obstacles
move_pace        when the next pod may be evicted, and whether the run has ended
moving           the evictions; api_moves connects them with a cluster
"""
