package batch

// Loose is a level of a topology under one domain of which all pods of a workload
// were to lie, where nothing says where the nodes stand: it keeps nothing
// together. The zero value says that nothing of the kind was asked, or that it
// is kept.
type Loose struct {
	Level  string
	Queue  QueueName
	Flavor FlavorName // has no topology; empty: the queue has no flavor
}
