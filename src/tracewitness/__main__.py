"""``python -m tracewitness`` is the command line."""

from tracewitness.cli import main

if __name__ == "__main__":
    main()
