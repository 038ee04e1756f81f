"""Convert syntax trees and policy texts to JSON documents and back."""
