cat routed/decisions/*.csv
