"""Syntax trees and policy texts as JSON documents, and back."""
