"""Ops that check_op had not seen when its rules were written."""
