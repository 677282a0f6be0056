"""What callers are told: bodies, answers, frames of streams, and the routes that give them."""
