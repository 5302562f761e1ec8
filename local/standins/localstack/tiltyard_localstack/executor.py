"""One process of a function, as LocalStack wants it: started, called, looked into, stopped."""

from __future__ import annotations

import collections
import os
import subprocess
import threading
import time

from localstack.services.lambda_.invocation.lambda_models import FunctionVersion, InvocationResult
from localstack.services.lambda_.invocation.runtime_executor import LambdaRuntimeException, RuntimeExecutor

from tiltyard_localstack.runtime_api import Event, RuntimeAPI

START_SECONDS = 60  # on a busy machine
STOP_SECONDS = 5
LOG_LINES = 10_000  # that are kept of a process


class ProcessExecutor(RuntimeExecutor):
    def __init__(self, id: str, function_version: FunctionVersion) -> None:
        super().__init__(id=id, function_version=function_version)
        self._log: collections.deque[str] = collections.deque(maxlen=LOG_LINES)
        self._api: RuntimeAPI | None = None
        self._process: subprocess.Popen | None = None

    def start(self, env_vars: dict[str, str]) -> None:
        """Returns when the process asks for its first event."""
        code = self.function_version.config.code.get_unzipped_code_location()
        program = code / "bootstrap"
        program.chmod(0o755)
        self._api = RuntimeAPI()
        environment = {name: str(value) for name, value in env_vars.items()}
        environment |= {"AWS_LAMBDA_RUNTIME_API": self._api.address, "LAMBDA_TASK_ROOT": str(code)}
        environment["PATH"] = os.environ["PATH"]
        self._process = subprocess.Popen(
            [program], cwd=code, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        threading.Thread(target=self._read_log, args=(self._process, self._api), daemon=True).start()
        if not self._api.asked.wait(START_SECONDS) or self._process.poll() is not None:
            raise LambdaRuntimeException(f"the function did not start:\n{self.get_logs()}")

    def _read_log(self, process: subprocess.Popen, api: RuntimeAPI) -> None:
        for line in process.stdout:
            self._log.append(line.decode(errors="replace"))
        api.fail(f"the process ended with {process.wait()}")

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        api, self._api = self._api, None
        if api is not None:
            api.close()

    def invoke(self, payload: dict[str, str]) -> InvocationResult:
        event = Event(
            id=payload["invoke-id"],
            function=payload["invoked-function-arn"],
            trace=payload["trace-id"],
            payload=payload["payload"].encode(),
            deadline=time.time() + self.function_version.config.timeout,
        )
        answer, wrong = self._api.call(event)
        return InvocationResult(event.id, answer, is_error=wrong, logs=self._take_log())

    def _take_log(self) -> str:
        """Lines that were not yet read from the process belong to its next call."""
        taken = []
        while self._log:
            taken.append(self._log.popleft())
        return "".join(taken)

    def get_logs(self) -> str:
        return "".join(list(self._log))

    def get_address(self) -> str:
        return "127.0.0.1"

    def get_endpoint_from_executor(self) -> str:
        return "127.0.0.1"

    def get_runtime_endpoint(self) -> str:
        return ""  # only what LocalStack puts into containers calls it

    @classmethod
    def prepare_version(cls, function_version: FunctionVersion) -> None:
        function_version.config.code.prepare_for_execution()

    @classmethod
    def cleanup_version(cls, function_version: FunctionVersion) -> None:
        pass  # the code goes with the function
