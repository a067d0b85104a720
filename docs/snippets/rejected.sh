tail -qn +2 routed/rejected/*.csv
