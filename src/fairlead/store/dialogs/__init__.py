"""Conversations: message types, contracts, services, and dialogs between them."""
