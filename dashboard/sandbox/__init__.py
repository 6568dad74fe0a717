"""The sandbox: every flow to try, with what is signed, asked, answered and told."""
