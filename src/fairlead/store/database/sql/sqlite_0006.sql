-- Version 6: on PostgreSQL dialogs from plain SQL; here nothing changes but the number.

UPDATE fairlead_schema SET version = 6;
