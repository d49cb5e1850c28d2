"""Webhooks come in as an extension."""

from __future__ import annotations

import pytest

from answerback.core.errors import ConfigError
from answerback.runtime.config import settings_type
from answerback.runtime.extensions import check_extensions
from answerback_testing.chosen_extensions import only_extensions
from answerback_testing.extension_contract import ExtensionContract
from answerback_webhooks.extension import WebhooksExtension


@pytest.mark.rule("PLUGIN-8", "PLUGIN-10")
class TestWebhooks(ExtensionContract):
    extension = WebhooksExtension


@pytest.mark.rule("PLUGIN-8")
def test_its_table_is_part_of_the_configuration_only_if_it_is_installed() -> None:
    invalid = settings_type().model_validate({"callbacks": {"allow": ["http://hooks"]}})
    with pytest.raises(ConfigError, match=r"callbacks\.allow"):
        check_extensions(invalid)
    with only_extensions([]):
        check_extensions(invalid)
        with pytest.raises(ValueError, match="callbacks"):
            settings_type().model_validate({"callbacks": {"allow": ["127.0.0.1"]}})
