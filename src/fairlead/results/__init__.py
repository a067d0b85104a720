"""What runs found, as plain data: their files hold it; the report and the commands show it."""
