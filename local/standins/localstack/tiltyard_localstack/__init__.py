"""Runs Lambda functions of LocalStack as processes of this machine, without Docker.

LocalStack finds the plugin by the entry point and uses it when LAMBDA_RUNTIME_EXECUTOR is
process. It is for functions that are a program for this machine, as those of the runtime
provided.al2023 are, and for programs that one trusts: nothing is between them and the
machine.
"""
