"""Lets REST APIs of LocalStack answer with bytes.

Where all media types are binary (*/*) AWS decodes what a function answers as base64. The
gateway of LocalStack 4.14.0 looks for the type that the client accepts among those that
are named one by one, passes over */*, and hands out base64.
"""

from __future__ import annotations

from localstack.runtime import hooks


@hooks.on_infra_start()
def all_media_types_may_be_binary():
    from localstack.services.apigateway.next_gen.execute_api.integrations import aws

    named = aws.mime_type_matches_binary_media_types

    def matches(mime_type: str | None, binary_media_types: list[str]) -> bool:
        return "*/*" in binary_media_types or named(mime_type, binary_media_types)

    aws.mime_type_matches_binary_media_types = matches
