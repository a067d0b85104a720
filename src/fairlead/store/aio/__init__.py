"""The store on an event loop: the same verbs, awaited."""
