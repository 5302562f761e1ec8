"""Engines that search vectors and texts, each behind the same few methods, and how they are measured."""
