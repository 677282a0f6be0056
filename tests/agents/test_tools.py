"""The weather tool, as a function and as a model sees it."""

from agents.assistant import get_weather


async def test_a_known_city_has_its_weather_whatever_the_letter_case() -> None:
    """The table decides for the cities in it."""
    assert await get_weather_in(" PARIS ") == "partly cloudy, 18 °C"


async def test_an_unknown_city_has_the_same_weather_every_time() -> None:
    """Made up from the name alone, so that tests and demonstrations repeat."""
    assert await get_weather_in("Atlantis") == await get_weather_in("atlantis") == "sunny, 12 °C"


def test_the_model_reads_the_docstring_and_one_required_argument() -> None:
    """The tool's description and schema are what a model decides by."""
    assert get_weather.description == "Tell the weather in a city: the sky and the temperature in degrees Celsius."
    assert get_weather.parameters()["required"] == ["city"]


async def get_weather_in(city: str) -> str:
    return "".join(content.text or "" for content in await get_weather.invoke(arguments={"city": city}))
