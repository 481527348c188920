"""Generates texts for formats that the OpenAPI document uses and JSON Schema does not define."""

import schemathesis
from hypothesis import strategies as st

NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,20}[a-z0-9]\.(?:com|example|org)", fullmatch=True)
URLS = st.builds("{}://{}/{}".format, st.sampled_from(["http", "https"]), NAMES, st.from_regex(r"[a-z0-9/]{0,20}", fullmatch=True))

FORMATS = {
    "http-url": URLS,
    "http-url-or-empty": st.one_of(st.just(""), URLS),
    # These host names do not resolve, so the test only validates targets and sends nothing.
    "webhook-target": st.builds("https://{}.example/{}".format, st.from_regex(r"[a-z]{1,20}", fullmatch=True), st.integers(0, 99)),
    "phone": st.sampled_from(["+34 934 12 34 56", "612 34 56 78", "+1 202-555-0142", "+44 20 7946 0958"]),
    "language": st.sampled_from(["en", "en-GB", "es", "fr", "pt-BR", "zh-Hant"]),
    "country": st.sampled_from(["ES", "FR", "PT", "US"]),
    "time-zone": st.sampled_from(["Europe/Madrid", "America/New_York", "UTC"]),
    "time-of-day": st.builds("{:02}:{:02}".format, st.integers(0, 23), st.integers(0, 59)),
}

for name, texts in FORMATS.items():
    schemathesis.openapi.format(name, texts)
