module clients

go 1.18

require github.com/Azure/go-amqp v1.5.0
