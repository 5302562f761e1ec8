"""What LocalStack loads when it starts. The executor itself is imported when it is needed."""

from localstack.services.lambda_.invocation.plugins import RuntimeExecutorPlugin


class ProcessExecutorPlugin(RuntimeExecutorPlugin):
    name = "process"

    def load(self, *_args, **_options):
        from tiltyard_localstack.executor import ProcessExecutor

        return ProcessExecutor
