fairlead dispatch AzureLLMInferenceTrace_conv.csv --cluster spill.toml --out azure \
  --number-rows \
  --column "time=TIMESTAMP" \
  --column "service_time=0.0002 * ContextTokens + 0.03 * GeneratedTokens"
