package scenario

import (
	"fmt"
	"math/big"
	"regexp"

	"github.com/berth-dev/berth/apis/sim/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
)

var quantityForm = regexp.MustCompile(`^([-+]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|)(?:[eE]([-+]?[0-9]{1,3}))?$`)

// amount reads a quantity as Kubernetes does, into thousandths of a core for
// cpu and whole units, rounded up, for everything else.
func amount(name batch.ResourceName, q v1alpha1.Quantity) (batch.Amount, error) {
	parts := quantityForm.FindStringSubmatch(string(q))
	if parts == nil || (parts[3] != "" && parts[4] != "") {
		return 0, fmt.Errorf("%q is not a quantity: write a number such as 8, 500m, 64Gi or 1Ti", string(q))
	}
	if parts[1] == "-" {
		return 0, fmt.Errorf("%q is below zero: a quantity is 0 or more", string(q))
	}
	number, ok := new(big.Rat).SetString(parts[2])
	if !ok {
		return 0, fmt.Errorf("%q is not a number", string(q))
	}
	number.Mul(number, suffix(parts[3]))
	if parts[4] != "" {
		exponent, err := integer(parts[4])
		if err != nil || exponent > 30 || exponent < -30 {
			return 0, fmt.Errorf("%q is out of range", string(q))
		}
		number.Mul(number, power(10, exponent))
	}
	if name == batch.ResourceCPU {
		number.Mul(number, big.NewRat(1000, 1))
	}
	whole := new(big.Int).Div(new(big.Int).Add(number.Num(), new(big.Int).Sub(number.Denom(), big.NewInt(1))), number.Denom())
	if !whole.IsInt64() || whole.Int64() > 1<<60 {
		return 0, fmt.Errorf("%q is out of range", string(q))
	}
	return batch.Amount(whole.Int64()), nil
}

func suffix(text string) *big.Rat {
	if len(text) == 2 {
		return power(1024, int64(indexOf("KMGTPE", text[0])+1))
	}
	if i := indexOf("kMGTPE", first(text)); i >= 0 {
		return power(1000, int64(i+1))
	}
	if i := indexOf("mun", first(text)); i >= 0 {
		return power(1000, -int64(i+1))
	}
	return big.NewRat(1, 1)
}

func first(text string) byte {
	if text == "" {
		return 0
	}
	return text[0]
}

func indexOf(letters string, letter byte) int {
	for i := range len(letters) {
		if letters[i] == letter {
			return i
		}
	}
	return -1
}

func power(base, exponent int64) *big.Rat {
	n := new(big.Int).Exp(big.NewInt(base), big.NewInt(max(exponent, -exponent)), nil)
	if exponent < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), n)
	}
	return new(big.Rat).SetInt(n)
}
