"""The door for user input: raw values come in, canonical arrays or a clear error go out."""
