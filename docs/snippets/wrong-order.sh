sed 's/"disabled", "down", "weight-zero", "worse-priority"/"worse-priority", "down"/' composed.toml > wrong-order.toml
fairlead check wrong-order.toml
