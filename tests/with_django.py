"""Set Django up and run a module as a program: `python -m tests.with_django MODULE ARGUMENTS`.

Models can only be imported after Django's setup. Programs started this way can import them at the top.
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
