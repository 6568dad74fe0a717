"""What staff can do, each as an action that can wait for a second person."""
