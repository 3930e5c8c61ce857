"""`python -m koegumi` is `koegumi`."""

from koegumi.cli import main

main()
