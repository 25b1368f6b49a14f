"""The command line: text in, text out, exit codes. The only room that prints."""
