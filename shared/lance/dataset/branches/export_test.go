package branches

// YoungClone is the age from which on a clone without a name is removed.
const YoungClone = youngClone
