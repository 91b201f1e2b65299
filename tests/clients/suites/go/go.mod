module example.org/crm

go 1.19
