-- Version 12: roles write no table; the library calls functions for what it writes, too.

UPDATE fairlead.schema SET version = 12;
