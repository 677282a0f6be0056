"""A format in which an agent answers, in a module that has no executors."""

from pydantic import BaseModel


class Country(BaseModel):
    """A country."""

    name: str


class City(BaseModel):
    """A city, with a value of another type in it."""

    name: str
    country: Country
