"""Would the tests notice? Each rule of the gate, and of what it rests on, is broken once; named tests have to fail."""
