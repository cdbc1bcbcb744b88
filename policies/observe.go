package policies

// observe watches and never writes.
type observe struct{}

func (observe) Name() string { return "observe" }

func (observe) Decide(*Observation) Decision {
	return Decision{Reason: "the policy observe never changes limits"}
}
