"""What each verb of the command line takes, a module for each group of verbs; help waits for nothing else."""
