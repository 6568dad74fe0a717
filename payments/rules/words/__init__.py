"""How codes and statuses are put into words."""
