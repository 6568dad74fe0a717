"""Run a module as a program with Django set up first: `python -m tests.with_django MODULE ARGUMENTS`.

Models can only be imported once Django is set up. A program that is started this way imports them at its top.
"""

import os
import runpy
import sys

import django

if __name__ == "__main__":
    del sys.argv[0]
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
