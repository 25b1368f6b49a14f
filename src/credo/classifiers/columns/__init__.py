"""The door for tables: any frame, array or list becomes columns of numbers or of words."""
