"""``python -m credo``: the command line."""

from credo.cli.main import run

if __name__ == "__main__":
    run()
