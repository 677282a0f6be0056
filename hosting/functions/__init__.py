"""The Azure surface: one file per trigger, none of them knows another."""
