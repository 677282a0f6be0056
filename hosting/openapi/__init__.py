"""The OpenAPI document of an app, made from the tables by which requests are read and answers are written."""
