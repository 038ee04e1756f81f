package main

import "errors"

func normalize(_ *cluster) (*List, error) {
	return nil, errors.New("not there yet")
}
