"""Reports listen to verdicts and write them down; they decide nothing."""
