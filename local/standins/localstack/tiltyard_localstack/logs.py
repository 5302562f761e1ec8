"""Lets lines of functions go the way from their log to a bucket.

LocalStack 4.14.0 writes what a function says to a log of a fixed name, whichever log its
configuration names. The first lines of a process get lost where a log has a subscription.
Subscriptions pass on all lines, whatever their patterns. And no Firehose stream is made of a
template that leaves its name to CloudFormation.
"""

from __future__ import annotations

import json
import re

from localstack.runtime import hooks


@hooks.on_infra_start()
def functions_have_the_log_that_they_name():
    from localstack.services.lambda_.invocation.execution_environment import ExecutionEnvironment

    fixed = ExecutionEnvironment.get_log_group_name

    def named(environment: ExecutionEnvironment) -> str:
        return environment.function_version.config.logging_config.get("LogGroup") or fixed(environment)

    ExecutionEnvironment.get_log_group_name = named


@hooks.on_infra_start()
def logs_with_a_subscription_take_streams():
    from localstack.services.logs import provider  # which replaces what this replaces again
    from moto.logs.exceptions import ResourceAlreadyExistsException

    def create(group: provider.MotoLogGroup, name: str) -> None:
        if name in group.streams:
            raise ResourceAlreadyExistsException()
        group.streams[name] = provider.MotoLogStream(log_group=group, name=name)

    provider.MotoLogGroup.create_log_stream = create


# The one form of a pattern that is known here.
FIELD = re.compile(r'\{ \$\.(\w+) = "([^"]*)" \}')


@hooks.on_infra_start()
def subscriptions_choose_lines_by_a_field():
    from localstack.services.logs import provider

    def matcher(pattern: str):
        if not (form := FIELD.fullmatch(pattern)):
            return lambda _pattern, _event: True
        return lambda _pattern, event: field(event["message"], form[1]) == form[2]

    provider.get_pattern_matcher = matcher


def field(line: str, name: str):
    """A field of a line in JSON, None of other lines."""
    try:
        return json.loads(line).get(name)
    except (ValueError, AttributeError):
        return None


@hooks.on_infra_start()
def streams_need_no_name():
    from localstack.services.cloudformation.provider_utils import generate_default_name
    from localstack.services.kinesisfirehose.resource_providers.aws_kinesisfirehose_deliverystream import (
        KinesisFirehoseDeliveryStreamProvider,
    )

    create = KinesisFirehoseDeliveryStreamProvider.create

    def create_with_name(provider, request):
        name = generate_default_name(request.stack_name, request.logical_resource_id)
        request.desired_state.setdefault("DeliveryStreamName", name)
        return create(provider, request)

    KinesisFirehoseDeliveryStreamProvider.create = create_with_name
