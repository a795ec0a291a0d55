package scenario

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/berth-dev/berth/apis/sim/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
)

// quantityParts are a number, what it is multiplied with, and a power of ten.
type quantityParts struct{ number, suffix, exponent string }

// quantityMax is the longest quantity that is read.
const quantityMax = 64

// amountMax is the largest amount that is read: some of them add up to less than is counted.
const amountMax = 1 << 60

// split takes a quantity apart; false: it is none.
func split(text string) (quantityParts, bool) {
	end := digitsFrom(text, 0)
	if end < len(text) && text[end] == '.' {
		end += 1 + digitsFrom(text, end+1)
	}
	parts := quantityParts{number: text[:end], suffix: text[end:]}
	if strings.Trim(parts.number, ".") == "" {
		return parts, false
	}
	switch parts.suffix {
	case "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei":
		return parts, true
	}
	// 5E is five exa, 5E3 is five thousand.
	parts.exponent, parts.suffix = parts.suffix[1:], parts.suffix[:1]
	isExponent := (parts.suffix == "e" || parts.suffix == "E") && isWhole(parts.exponent)
	parts.suffix = ""
	return parts, isExponent
}

// amount reads a quantity as Kubernetes does, into thousandths of a core for
// cpu and whole units, rounded up, for everything else.
func amount(name batch.ResourceName, q v1alpha1.Quantity) (batch.Amount, error) {
	text := string(q)
	parts, ok := split(text[signed(text):])
	if !ok {
		return 0, fmt.Errorf("%q is not a quantity: write a number such as 8, 500m, 64Gi or 1Ti", text)
	}
	if text[0] == '-' {
		return 0, fmt.Errorf("%q is below zero: a quantity is 0 or more", text)
	}
	if len(text) > quantityMax {
		return 0, outOfRange(name, text[:quantityMax]+"...")
	}
	number, ok := new(big.Rat).SetString(parts.number)
	if !ok {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	number.Mul(number, factor(parts.suffix))
	if parts.exponent != "" {
		exponent, err := integer(parts.exponent)
		if err != nil || exponent > 30 || exponent < -30 {
			return 0, outOfRange(name, text)
		}
		number.Mul(number, power(10, exponent))
	}
	if counted(name) && !number.IsInt() {
		return 0, fmt.Errorf("%q is not a whole number: %s is counted in whole units, as in a cluster", text, name)
	}
	if name == batch.ResourceCPU {
		number.Mul(number, big.NewRat(1000, 1))
	}
	whole := new(big.Int).Div(new(big.Int).Add(number.Num(), new(big.Int).Sub(number.Denom(), big.NewInt(1))), number.Denom())
	if !whole.IsInt64() || whole.Int64() > amountMax {
		return 0, outOfRange(name, text)
	}
	return batch.Amount(whole.Int64()), nil
}

// outOfRange says how much of a resource may be written.
func outOfRange(name batch.ResourceName, text string) error {
	most := int64(amountMax)
	if name == batch.ResourceCPU {
		most /= 1000
	}
	return fmt.Errorf("%q is out of range: %s is counted up to %d; write that, or less", text, name, most)
}

// counted says whether a cluster takes whole numbers alone of a resource: pods, and
// extended resources, whose names have a domain that is not Kubernetes' own.
func counted(name batch.ResourceName) bool {
	return name == batch.ResourcePods || strings.Contains(string(name), "/") && !strings.Contains(string(name), "kubernetes.io/")
}

func factor(text string) *big.Rat {
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
